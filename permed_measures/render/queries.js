"use strict";
(() => {
  const content = JSON.parse(document.getElementById("values").textContent);
  const find = (id) => document.getElementById(id);
  const head = document.querySelector("#query-table thead");
  const body = document.querySelector("#query-table tbody");
  const PAGE = 50;
  const SAME = 1e-9;
  const byName = new Intl.Collator(undefined, { numeric: true }).compare;
  const behind = content.behind;
  const opened = new Set();
  // read from the largest loss on, or the lowest value
  let sortedBy = (content.groups ? 2 : 1) + (content.changes && content.names.length > 1 ? 2 : 0);
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
      if (content.changes && run > 0) {
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

  const known = (place) => (behind ? behind.queries[place] : undefined);

  const wanted = (list) => {
    const contains = find("contains").value.toLowerCase();
    const outcome = content.changes ? find("outcome").value : "all";
    const changes = list.filter((column) => column.change);
    return content.queries.map((_, place) => place).filter((place) => {
      const text = content.queries[place] + " " + (known(place) ? known(place)[0] : "");
      if (contains && !text.toLowerCase().includes(contains)) return false;
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

  // where a document of a run was in the baseline's list; of the baseline, whether the only other run still has it
  const moved = (lists, run, rank) => {
    if (run === 0) return lists.length === 2 && lists[1] && !lists[1].includes(lists[0][rank]) ? ["out", "down"] : ["", ""];
    if (!lists[0]) return ["", ""];
    const before = lists[0].indexOf(lists[run][rank]);
    if (before < 0) return ["new", "up"];
    return before === rank ? ["", ""] : [`from ${before + 1}`, before > rank ? "up" : "down"];
  };

  const one = (place, run) => {
    const [, lists, grades] = known(place);
    const box = element("div");
    const value = content.values[find("measure").value][run][place];
    box.append(element("h4", `${content.names[run]}: ${number(value)}`));
    if (!lists[run]) {
      box.append(element("p", "no documents of this run are known here", "soft"));
      return box;
    }
    const list = element("ol");
    lists[run].forEach((document_, rank) => {
      const [name, text] = behind.documents[document_];
      const [change, kind] = moved(lists, run, rank);
      const grade = grades[document_];
      const item = element("li");
      const head = element("div");
      head.append(element("span", grade === undefined ? "unjudged" : `grade ${grade}`, grade === undefined ? "no" : grade > 0 ? "yes" : "zero"));
      head.append(element("code", name));
      if (change) head.append(element("span", change, kind));
      item.append(head);
      if (text) item.append(element("p", text));
      list.append(item);
    });
    box.append(list);
    return box;
  };

  const details = (place, width) => {
    const row = element("tr", undefined, "behind");
    const cell = element("td");
    cell.colSpan = width;
    const inside = element("div", undefined, "inside");
    if (known(place)[0]) inside.append(element("p", known(place)[0], "text"));
    const lists = element("div", undefined, "lists");
    lists.append(...content.names.map((_, run) => one(place, run)));
    inside.append(lists);
    cell.append(inside);
    row.append(cell);
    return row;
  };

  // the query, as a button where something is behind it
  const opener = (cell, place) => {
    const button = element("button", cell.textContent);
    button.type = "button";
    button.setAttribute("aria-expanded", String(opened.has(place)));
    button.addEventListener("click", () => {
      if (!opened.delete(place)) opened.add(place);
      draw();
      const again = body.querySelector(`button[data-place="${place}"]`);
      if (again) again.focus();
    });
    button.dataset.place = place;
    cell.replaceChildren(button);
    if (known(place)[0]) cell.append(element("span", known(place)[0], "text"));
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
    body.replaceChildren(...places.slice(0, shown).flatMap((place) => {
      const row = element("tr");
      row.append(...list.map((column) => {
        const value = column.of(place);
        const differs = column.change && value !== null && Math.abs(value) >= SAME;
        return element("td", column.show(value), column.text ? "left" : differs ? (value > 0 ? "up" : "down") : "");
      }));
      if (!known(place)) return [row];
      opener(row.firstChild, place);
      return opened.has(place) ? [row, details(place, list.length)] : [row];
    }));
    const plural = content.queries.length === 1 ? "query" : "queries";
    find("count").textContent = `${places.length} of ${content.queries.length} ${plural}`;
    find("more").hidden = places.length <= shown;
  };

  const again = () => { shown = PAGE; draw(); };
  for (const event of ["input", "change"]) find("filter").addEventListener(event, again);
  find("filter").addEventListener("submit", (event) => event.preventDefault());
  find("more").addEventListener("click", () => { shown += 10 * PAGE; draw(); });
  draw();
})();
