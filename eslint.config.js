import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["explorer/static/vendor/"] },
  js.configs.recommended,
  { files: ["explorer/**/*.js"], languageOptions: { globals: globals.browser } },
  { files: ["tests/**/*.mjs"], languageOptions: { globals: globals.nodeBuiltin } },
];
