/* What of a page cannot be seen: gives back a list. `printed`: nothing may need scrolling either way. */
(printed) => {
  const wrong = [];
  const slack = 1.5;
  const wide = document.scrollingElement.clientWidth;
  const name = (node) => {
    const id = node.id ? `#${node.id}` : "";
    const words = (node.textContent || "").trim().replace(/\s+/g, " ").slice(0, 50);
    return `<${node.tagName.toLowerCase()}${id} class="${node.getAttribute("class") || ""}"> ${words}`;
  };
  for (const step of document.querySelectorAll(".step")) step.style.contentVisibility = "visible";

  const whole = document.scrollingElement.scrollWidth;
  if (whole > innerWidth) wrong.push(`the page is ${whole} wide, the window ${innerWidth}`);

  for (const box of document.querySelectorAll("body *")) {
    if (!box.checkVisibility() || /^(SELECT|INPUT)$/.test(box.tagName)) continue;
    const style = getComputedStyle(box);
    if (style.overflowX !== "visible" && box.scrollWidth > box.clientWidth + slack) {
      wrong.push(`shows ${box.clientWidth} of ${box.scrollWidth}: ${name(box)}`);
    }
    if (printed && style.overflowY !== "visible" && box.scrollHeight > box.clientHeight + slack) {
      wrong.push(`shows ${box.clientHeight} of ${box.scrollHeight} in height: ${name(box)}`);
    }
  }

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let checked = 0;
  while (texts.nextNode()) {
    const node = texts.currentNode.parentElement;
    if (!texts.currentNode.textContent.trim() || !node.checkVisibility() || node.closest(".skip")) continue;
    if (/^(SCRIPT|STYLE|TITLE|NOSCRIPT|OPTION)$/i.test(node.tagName)) continue;
    range.selectNodeContents(texts.currentNode);
    const around = node.closest("svg, td, th, .card, .flag, .chip") || document.body;
    const room = around.getBoundingClientRect();
    checked += 1;
    for (const box of range.getClientRects()) {
      if (box.width === 0) continue;
      if (box.left < -slack || box.right > wide + slack) wrong.push(`outside of the page: ${name(node)}`);
      else if (box.left < room.left - slack || box.right > room.right + slack) {
        wrong.push(`outside of its ${around.tagName.toLowerCase()}: ${name(node)}`);
      } else continue;
      break;
    }
  }
  if (checked < 20) wrong.push(`only ${checked} texts were checked`);
  return wrong;
}
