// Sorting and filters for the tables of browse.py. Without it the tables stand as they are.
"use strict";

const text = cell => cell.textContent.trim();
const key = (cell, kind) => {
  const value = cell.dataset.sort ?? text(cell);
  return kind === "number" ? (value === "" ? NaN : Number(value)) : value;
};

function sortable(table, heads) {
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows].map(row => [key(row.cells[column], head.dataset.kind), row]);
      rows.sort(([a], [b]) => {
        if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); // empty cells come last
        return (up ? 1 : -1) * (a < b ? -1 : a > b ? 1 : 0);
      });
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}

function labelled(name, control) {
  const label = document.createElement("label");
  label.append(name + " ", control);
  return label;
}

function choice(name, column, rows) {
  const values = [...new Set(rows.map(row => text(row.cells[column])))].filter(value => value).sort();
  if (values.length < 2) return null;
  const select = document.createElement("select");
  select.append(new Option("all", ""), ...values.map(value => new Option(value, value)));
  return { column, select, label: labelled(name, select) };
}

function filters(browse, table, heads) {
  const rows = [...table.tBodies[0].rows];
  const search = document.createElement("input");
  search.type = "search";
  const choices = heads.map((head, column) => head.dataset.kind === "choice" && choice(text(head), column, rows)).filter(Boolean);
  const count = document.createElement("output");
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      const all = row.textContent.toLowerCase();
      row.hidden = !(words.every(word => all.includes(word)) &&
        choices.every(({ column, select }) => !select.value || text(row.cells[column]) === select.value));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} rows`;
  };
  const controls = document.createElement("div");
  controls.className = "controls";
  controls.append(labelled("Search", search), ...choices.map(({ label }) => label), count);
  controls.addEventListener("input", apply);
  browse.prepend(controls);
  apply();
}

for (const browse of document.querySelectorAll(".browse")) {
  const table = browse.querySelector("table");
  const heads = [...table.tHead.rows[0].cells];
  filters(browse, table, heads);
  sortable(table, heads);
}
