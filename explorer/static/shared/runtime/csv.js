/* Write a table as CSV. */

export function toCsv(columns, rows) {
  return [columns, ...rows].map((row) => row.map(formatCell).join(",")).join("\n") + "\n";
}

function formatCell(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  let text = String(value);
  // A spreadsheet would run such a text as a formula.
  if (/^[=+\-@\t\r]/.test(text) && !(text.trim() && Number.isFinite(Number(text)))) text = `'${text}`;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
