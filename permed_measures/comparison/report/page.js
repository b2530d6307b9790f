"use strict";
(() => {
  const content = JSON.parse(document.getElementById("values").textContent);
  const find = (id) => document.getElementById(id);
  const head = document.querySelector("#query-table thead");
  const body = document.querySelector("#query-table tbody");
  const PAGE = 50;
  const SAME = 1e-9;
  const byName = new Intl.Collator(undefined, { numeric: true }).compare;
  let sortedBy = 0;
  let direction = 1;
  let shown = PAGE;

  const number = (value) => (value === null ? "–" : value.toFixed(4));
  const signed = (value) => {
    if (value === null) return "–";
    const text = value.toFixed(4);
    return Number(text) === 0 ? "0.0000" : (value > 0 ? "+" : "") + text;
  };

  // one column is { title, text: left or not, of: query place -> value, show: value -> text, change: coloured or not }
  const columns = () => {
    const values = content.values[find("measure").value];
    const list = [{ title: "query", text: true, of: (place) => content.queries[place], show: String }];
    if (content.groups) {
      list.push({ title: content.grouped, text: true, of: (place) => content.groups[place], show: String });
    }
    content.names.forEach((name, run) => {
      list.push({ title: name, of: (place) => values[run][place], show: number });
      if (run > 0) {
        const difference = (place) => {
          const after = values[run][place];
          const before = values[0][place];
          return after === null || before === null ? null : after - before;
        };
        list.push({ title: "change", change: true, of: difference, show: signed });
      }
    });
    return list;
  };

  const compare = (column) => (a, b) => {
    const left = column.of(a);
    const right = column.of(b);
    if (left === null || right === null) return (left === null) - (right === null);
    return direction * (column.text ? byName(left, right) : left - right) || a - b;
  };

  const wanted = (list) => {
    const contains = find("contains").value.toLowerCase();
    const outcome = find("outcome").value;
    const changes = list.filter((column) => column.change);
    return content.queries.map((_, place) => place).filter((place) => {
      if (contains && !content.queries[place].toLowerCase().includes(contains)) return false;
      if (outcome === "all") return true;
      return changes.some((column) => {
        const value = column.of(place);
        if (value === null || Math.abs(value) < SAME) return false;
        return outcome === "differ" || (outcome === "better") === (value > 0);
      });
    });
  };

  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  const draw = () => {
    const list = columns();
    const places = wanted(list).sort(compare(list[sortedBy]));
    const heads = element("tr");
    list.forEach((column, place) => {
      const cell = element("th", undefined, column.text ? "left" : "");
      cell.scope = "col";
      if (place === sortedBy) cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      const button = element("button", column.title);
      button.type = "button";
      button.addEventListener("click", () => {
        direction = place === sortedBy ? -direction : column.text ? 1 : -1;
        sortedBy = place;
        draw();
        head.querySelectorAll("button")[place].focus();
      });
      cell.append(button);
      heads.append(cell);
    });
    head.replaceChildren(heads);
    body.replaceChildren(...places.slice(0, shown).map((place) => {
      const row = element("tr");
      row.append(...list.map((column) => {
        const value = column.of(place);
        const moved = column.change && value !== null && Math.abs(value) >= SAME;
        return element("td", column.show(value), column.text ? "left" : moved ? (value > 0 ? "up" : "down") : "");
      }));
      return row;
    }));
    const plural = content.queries.length === 1 ? "query" : "queries";
    find("count").textContent = `${places.length} of ${content.queries.length} ${plural}`;
    find("more").hidden = places.length <= shown;
  };

  const again = () => { shown = PAGE; draw(); };
  for (const id of ["measure", "contains", "outcome"]) {
    for (const event of ["input", "change"]) find(id).addEventListener(event, again);
  }
  find("filter").addEventListener("submit", (event) => event.preventDefault());
  find("more").addEventListener("click", () => { shown += 10 * PAGE; draw(); });
  draw();
})();
