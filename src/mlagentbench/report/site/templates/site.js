"use strict";
/* The site reads well without this: it adds the theme's button, folding, tables that become cards
   on narrow screens, and the table of runs. */
(function () {
  const kept = "mlagentbench-theme";

  function remembered() {
    try { return localStorage.getItem(kept); } catch { return null; }
  }
  function remember(theme) {
    try { localStorage.setItem(kept, theme); } catch { /* some browsers keep nothing for files */ }
  }
  function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }
  document.documentElement.classList.add("scripted");
  const before = remembered();
  if (before === "light" || before === "dark") document.documentElement.dataset.theme = before;

  function themeButton() {
    const button = document.getElementById("theme");
    const say = () => {
      button.textContent = isDark() ? "Light" : "Dark";
      button.setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
    };
    button.addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      remember(document.documentElement.dataset.theme);
      say();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", say);
    say();
    button.hidden = false;
  }

  function folding() {
    for (const button of document.querySelectorAll("[data-open], [data-close]")) {
      const open = "open" in button.dataset;
      const place = document.querySelector(button.dataset.open || button.dataset.close);
      button.addEventListener("click", () => {
        for (const part of place.querySelectorAll("details")) part.open = open;
      });
      button.hidden = false;
    }
  }

  /* On a narrow screen a row is a card, and each cell says which column it is in. */
  function nameCells(table) {
    const heads = [...(table.tHead?.rows[0]?.cells || [])].map(words);
    for (const row of table.tBodies[0]?.rows || []) {
      [...row.cells].forEach((cell, at) => { if (cell.tagName === "TD" && cell.colSpan === 1) cell.dataset.column = heads[at]; });
    }
  }
  function words(head) {
    return [...head.childNodes].map((one) => one.textContent.trim()).filter(Boolean).join(", ");
  }

  function openTarget() {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  }

  /* ---- the table of runs ---- */

  const PAGE = 100;
  const FILTERS = ["task", "agent", "model", "tier", "outcome", "success", "rung"];

  function runsTable() {
    const source = document.getElementById("runs-data");
    if (!source) return;
    const data = JSON.parse(source.textContent);
    const column = Object.fromEntries(data.columns.map((one, at) => [one, at]));
    const table = document.getElementById("runs");
    const body = table.tBodies[0];
    const heads = [...table.tHead.querySelectorAll("th")];
    const numeric = new Set(heads.filter((head) => head.classList.contains("n")).map((head) => head.dataset.column));
    const words = document.getElementById("filter-text");
    const findings = document.getElementById("filter-findings");
    const state = { page: 0, by: null, down: false, shown: data.rows };
    const text = (row, name) => {
      const value = row[column[name]];
      return name in data.names ? data.names[name][value] : value;
    };
    const searched = data.rows.map((row) =>
      [...FILTERS.map((name) => text(row, name)), row[column.run], ...row[column.kinds].map((at) => data.kinds[at])]
        .join(" ").toLowerCase());
    data.rows.forEach((row, at) => { row.place = at; });

    function fill(select, values) {
      for (const value of values) select.append(new Option(value, value));
    }
    for (const name of FILTERS) fill(document.getElementById(`filter-${name}`), data.names[name]);
    fill(findings, data.kinds);

    function matches(row) {
      for (const name of FILTERS) {
        const wanted = document.getElementById(`filter-${name}`).value;
        if (wanted && text(row, name) !== wanted) return false;
      }
      const kind = findings.value;
      if (kind === "any" && !row[column.findings]) return false;
      if (kind === "none" && row[column.findings]) return false;
      if (kind === "integrity" && !row[column.integrity]) return false;
      if (kind && !["any", "none", "integrity"].includes(kind)
        && !row[column.kinds].some((at) => data.kinds[at] === kind)) return false;
      const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
      return asked.every((word) => searched[row.place].includes(word));
    }

    function compare(a, b) {
      const left = text(a, state.by), right = text(b, state.by);
      if (left === null || right === null) return (left === null) - (right === null) || a.place - b.place;
      const order = typeof left === "number" ? left - right : String(left).localeCompare(String(right), "en", { numeric: true });
      return (state.down ? -order : order) || a.place - b.place;
    }

    function choose() {
      state.shown = data.rows.filter(matches);
      if (state.by) state.shown.sort(compare);
      state.page = 0;
      remember();
      show();
    }

    function remember() {
      const kept = new URLSearchParams();
      for (const one of document.querySelectorAll(".filters input, .filters select")) {
        if (one.value) kept.set(one.id.replace("filter-", ""), one.value);
      }
      try { history.replaceState(null, "", kept.size ? `#${kept}` : "#"); } catch { /* not for files, somewhere */ }
    }

    function recall() {
      for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
        const one = document.getElementById(`filter-${name}`);
        if (one) one.value = value;
      }
    }

    function cell(row, name) {
      const value = text(row, name);
      const place = document.createElement(name === "task" ? "th" : "td");
      if (name === "task") place.scope = "row";
      const shown = value === null ? "-" : name in data.shown ? data.shown[name][row.place] : String(value);
      if (numeric.has(name)) place.className = "n";
      if (name === "agent" || name === "model") place.className = "long";
      if (typeof value === "number") place.dataset.value = String(value);
      if (name === "run") {
        const link = document.createElement("a");
        link.href = `runs/${encodeURIComponent(row[column.page])}.html`;
        link.textContent = shown;
        link.setAttribute("aria-label", `run ${shown} of ${text(row, "agent")} on ${text(row, "task")}`);
        place.append(link);
      } else {
        place.textContent = shown;
      }
      if (name === "success" && value !== "unknown") place.classList.add(value === "yes" ? "yes" : "no");
      return place;
    }

    function show() {
      const first = state.page * PAGE;
      const part = state.shown.slice(first, first + PAGE);
      body.replaceChildren(...part.map((row) => {
        const line = document.createElement("tr");
        line.append(...heads.map((head) => cell(row, head.dataset.column)));
        return line;
      }));
      nameCells(table);
      const last = first + part.length;
      document.getElementById("runs-shown").textContent = part.length
        ? `${first + 1} to ${last} of ${state.shown.length} runs` + (state.shown.length < data.rows.length ? ` (${data.rows.length} in all)` : "")
        : "No run fits these filters.";
      document.getElementById("previous").disabled = state.page === 0;
      document.getElementById("next").disabled = last >= state.shown.length;
    }

    for (const head of heads) {
      head.querySelector("button").addEventListener("click", () => {
        const name = head.dataset.column;
        state.down = state.by === name ? !state.down : false;
        state.by = name;
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        choose();
      });
    }
    for (const one of document.querySelectorAll(".filters select")) one.addEventListener("change", choose);
    words.addEventListener("input", choose);
    document.getElementById("clear").addEventListener("click", () => {
      for (const one of document.querySelectorAll(".filters input, .filters select")) one.value = "";
      choose();
      words.focus();
    });
    const turn = (by) => { state.page += by; show(); };
    document.getElementById("previous").addEventListener("click", () => turn(-1));
    document.getElementById("next").addEventListener("click", () => turn(1));
    document.addEventListener("keydown", (event) => {
      const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
      if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        words.focus();
      }
    });
    addEventListener("hashchange", () => { recall(); choose(); });
    recall();
    choose();
    document.getElementById("interactive").hidden = false;
  }

  document.addEventListener("DOMContentLoaded", () => {
    themeButton();
    folding();
    document.querySelectorAll("table").forEach(nameCells);
    openTarget();
    addEventListener("hashchange", openTarget);
    runsTable();
  });
})();
