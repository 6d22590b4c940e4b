/* Write a table as CSV. */
import { escapeInvisible } from "./visible_text.js";

export function toCsv(columns, rows) {
  return [columns, ...rows].map((row) => row.map(formatCell).join(",")).join("\n") + "\n";
}

function formatCell(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  let text = escapeInvisible(String(value));
  // A spreadsheet would run such a text as a formula (OWASP, CSV injection).
  if (/^(?:[\t\r]|\n*[=+\-@＝＋－＠])/.test(text) && !(text.trim() && Number.isFinite(Number(text)))) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
