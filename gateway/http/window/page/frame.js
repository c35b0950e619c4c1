// Inside the quiet frame, whose origin is no site's and whose policy runs this
// script alone: takes HTML of the page and shows what is harmless of it. What
// is shown is built anew of elements and attributes that are listed here, so
// that no text is parsed twice.
// @ts-check
{
  const KEPT = new Set(("a abbr b blockquote br caption center code col colgroup "
    + "dd del details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i "
    + "img ins kbd li mark ol p pre q s samp small span strong sub summary sup "
    + "table tbody td tfoot th thead time tr u ul var").split(" "));
  // Also what is in them. Of other elements the content stays.
  const GONE = new Set(("applet area audio base canvas embed frame frameset "
    + "iframe input link map meta noembed noframes noscript object param "
    + "picture script select slot source template textarea title track video")
    .split(" "));
  const ATTRIBUTES = new Set(("align alt class colspan dir height id lang open "
    + "reversed rowspan scope span start style title valign width").split(" "));
  const PICTURE = /^\s*data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*$/;
  const HTML = "http://www.w3.org/1999/xhtml";
  const NODES_MAX = 50000;
  const TARGET_MAX = 300; // characters of a link's target
  // As in text.js, which this script cannot import.
  const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
  let left = NODES_MAX;

  /** @param {string} text */
  const visible = (text) => text.replace(unseen, (one) =>
    "\n\t\r\f".includes(one) ? one : `⟨U+${/** @type {number} */ (one.codePointAt(0))
      .toString(16).toUpperCase().padStart(4, "0")}⟩`);

  /** @param {Element} from */
  const target = (from) => {
    const href = (from.getAttribute("href") ?? "").trim();
    if (!/^https?:/i.test(href) || href === from.textContent?.trim()) return "";
    const shown = visible(href.slice(0, TARGET_MAX));
    return ` ⟨${shown}${href.length > TARGET_MAX ? "…" : ""}⟩`;
  };

  /**
   * A copy with the listed attributes alone. A link becomes its text.
   * @param {Element} from
   * @returns {HTMLElement}
   */
  const copy = (from) => {
    const isLink = from.localName === "a";
    const to = document.createElement(isLink ? "span" : from.localName);
    for (const { name, value } of from.attributes)
      if (ATTRIBUTES.has(name)) to.setAttribute(name, value);
    const source = from.getAttribute("src") ?? "";
    if (to instanceof HTMLImageElement && PICTURE.test(source)) {
      to.addEventListener("load", tell);
      to.src = source;
    }
    return to;
  };

  /**
   * Goes by a walker, since an element's own properties may be covered by what
   * is named inside it.
   * @param {TreeWalker} walker at the parent
   * @param {Node} to
   */
  const fill = (walker, to) => {
    if (!walker.firstChild()) return;
    do {
      const from = walker.currentNode;
      if (left-- <= 0) continue;
      if (from instanceof Text) {
        to.appendChild(document.createTextNode(visible(from.data)));
      } else if (from instanceof Element && from.namespaceURI === HTML
        && from.localName === "style") {
        const style = document.createElement("style");
        style.textContent = from.textContent;
        to.appendChild(style);
      } else if (from instanceof HTMLElement && KEPT.has(from.localName)) {
        const made = copy(from);
        to.appendChild(made);
        fill(walker, made);
        if (from.localName !== "a") continue;
        const where = document.createElement("span");
        where.className = "hearth-target";
        where.textContent = target(from);
        made.appendChild(where);
      } else if (from instanceof HTMLElement && !GONE.has(from.localName)) {
        fill(walker, to);
      }
    } while (walker.nextSibling());
    walker.parentNode();
  };

  const tell = () => {
    const { height } = document.documentElement.getBoundingClientRect();
    const isEmpty = !document.body.innerText.trim()
      && !document.body.querySelector("img[src], hr");
    parent.postMessage({ height: Math.ceil(height), isEmpty, isCut: left < 0 }, "*");
  };

  let isFilled = false;
  addEventListener("message", (event) => {
    if (event.source !== parent || isFilled || typeof event.data !== "string")
      return;
    isFilled = true;
    const parsed = new DOMParser().parseFromString(event.data, "text/html");
    fill(document.createTreeWalker(parsed.documentElement), document.body);
    addEventListener("toggle", tell, true);
    addEventListener("resize", tell);
    tell();
  });
}
