/* What everybody should be able to do with a page; gives back a list of what is wrong with it. */
() => {
  const wrong = [];
  const name = (node) => {
    const id = node.id ? `#${node.id}` : "";
    const words = (node.textContent || "").trim().slice(0, 40);
    return `<${node.tagName.toLowerCase()}${id} class="${node.getAttribute("class") || ""}"> ${words}`;
  };
  const seen = (node) => node.checkVisibility();

  if (!document.documentElement.lang) wrong.push("no lang");
  if (!document.title.trim()) wrong.push("no title");
  if (document.querySelectorAll("main").length !== 1) wrong.push("not one main");
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");

  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  for (const id of new Set(ids.filter((one, at) => ids.indexOf(one) !== at))) wrong.push(`id twice: ${id}`);

  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const now = Number(heading.tagName[1]);
    if (now > level + 1) wrong.push(`heading ${name(heading)} after level ${level}`);
    level = now;
  }
  for (const input of document.querySelectorAll("input, select, textarea")) {
    if (!input.labels.length && !input.ariaLabel) wrong.push(`no label: ${name(input)}`);
  }
  for (const drawing of document.querySelectorAll("img, svg")) {
    const named = drawing.getAttribute("alt") || drawing.ariaLabel || drawing.closest("[aria-hidden=true]");
    if (!named) wrong.push(`no name: ${name(drawing)}`);
  }
  for (const one of document.querySelectorAll("a[href], button, summary")) {
    if (!(one.textContent.trim() || one.ariaLabel)) wrong.push(`nothing to read out: ${name(one)}`);
  }
  for (const table of document.querySelectorAll("table")) {
    if (!table.querySelector("th[scope]")) wrong.push(`table without headers: ${name(table)}`);
  }
  for (const box of document.querySelectorAll("*")) {
    const scrolls = /auto|scroll/.test(getComputedStyle(box).overflowX) && box.scrollWidth > box.clientWidth + 1;
    if (seen(box) && scrolls && box.tabIndex < 0) wrong.push(`cannot be scrolled by keyboard: ${name(box)}`);
  }

  const channels = (colour) => {
    const numbers = colour.match(/[\d.]+/g).map(Number);
    return { rgb: numbers.slice(0, 3), alpha: numbers.length > 3 ? numbers[3] : 1 };
  };
  const over = (top, below) => top.rgb.map((value, at) => value * top.alpha + below[at] * (1 - top.alpha));
  const ground = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      const layer = channels(getComputedStyle(at).backgroundColor);
      if (layer.alpha > 0) layers.push(layer);
      if (layer.alpha === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const luminance = (rgb) => {
    const linear = rgb.map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let checked = 0;
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !seen(node)) continue;
    if (/^(SCRIPT|STYLE|TITLE|NOSCRIPT|OPTION)$/i.test(node.tagName)) continue;
    const style = getComputedStyle(node);
    const drawn = node instanceof SVGElement;
    const bar = drawn && node.closest(".bar");
    const below = bar ? channels(getComputedStyle(bar.querySelector("rect")).fill).rgb
      : ground(drawn ? node.ownerSVGElement : node);
    const ratio = contrast(over(channels(drawn ? style.fill : style.color), below), below);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    checked += 1;
    if (ratio < needed) wrong.push(`contrast ${ratio.toFixed(2)}: ${name(node)}`);
  }
  if (checked < 20) wrong.push(`only ${checked} texts were checked`);
  return wrong;
}
