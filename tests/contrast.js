// Return the texts whose contrast to what is behind them is below 4.5 to 1: WCAG 2.2, 1.4.3.
const numbers = (colour) => (colour.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
const over = ([r, g, b, a = 1], below) => [r, g, b].map((part, n) => part * a + below[n] * (1 - a));
const behind = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(numbers(getComputedStyle(at).backgroundColor));
  const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
  return layers.reverse().reduce((below, layer) => over(layer, below), scheme);
};
const light = (colour) => colour.map((part) => part / 255).map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
  .reduce((sum, part, n) => sum + part * [0.2126, 0.7152, 0.0722][n], 0);
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement, style = getComputedStyle(element);
  if (!walker.currentNode.textContent.trim() || element.closest("title, script, style, noscript, option") || !element.getClientRects().length) continue;
  const svg = element.closest("svg"), on = [...element.classList].find((name) => name.startsWith("on-"));
  let below = behind(svg ? svg.parentElement : element);
  if (on) below = over(numbers(getComputedStyle(svg.querySelector("." + on.slice(3))).fill), below);
  const colour = over(numbers(svg ? style.fill : style.color), below);
  const [high, low] = [light(colour), light(below)].sort((a, b) => b - a);
  const contrast = (high + 0.05) / (low + 0.05);
  const enough = /[\p{L}\p{N}*]/u.test(walker.currentNode.textContent) ? 4.5 : 3; // a coloured square is no text
  if (contrast < enough) found.push(`${walker.currentNode.textContent.trim().slice(0, 30)} (${element.className.baseVal ?? element.className}): ${contrast.toFixed(2)}`);
}
return [...new Set(found)];
