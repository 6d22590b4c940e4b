import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["explorer/static/vendor/"] },
  js.configs.recommended,
  { files: ["explorer/static/**/*.js"], languageOptions: { globals: globals.browser } },
  { files: ["tests/static/**/*.mjs"], languageOptions: { globals: globals.nodeBuiltin } },
];
