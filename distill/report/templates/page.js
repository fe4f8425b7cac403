"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const text = (row, column) => row.cells[column]?.textContent.trim() ?? "";
  // Without the signs that a figure may carry; a name with a digit in it is no figure.
  const number = (shown) => (shown === "" ? NaN : Number(shown.replace("\u2212", "-").replace(/[\s<*\u25b2\u25bc]/g, "")));
  const absent = (shown) => shown === "" || shown === "\u2013";
  const compare = (a, b) => {
    const [x, y] = [number(a), number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
  };
  const sort = (head, column) => {
    // Figures are looked at from the best down, names from A on.
    const rows = [...body.rows];
    const figures = rows.some((row) => !Number.isNaN(number(text(row, column))));
    const [first, other] = figures ? ["descending", "ascending"] : ["ascending", "descending"];
    const order = head.getAttribute("aria-sort") === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    rows.sort((one, two) => {
      const [a, b] = [text(one, column), text(two, column)];
      return absent(a) || absent(b) ? absent(a) - absent(b) : sign * compare(a, b);
    });
    heads.forEach((cell) => cell.setAttribute("aria-sort", cell === head ? order : "none"));
    body.append(...rows);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sort(head, column));
  });
}
// What scrolls has to be reached by keyboard; what does not is no stop. What is folded has no width yet.
const reach = () => {
  for (const box of document.querySelectorAll(".wide, .drawing")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
};
reach();
for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", reach);
// Paper cannot be unfolded.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => (part.open = true)));
