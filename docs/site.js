// A head without words is no head; every part has a name; what is larger than its place can be scrolled by keys.
window.addEventListener("load", () => {
  for (const head of document.querySelectorAll("th")) {
    if (!head.textContent.trim()) head.replaceWith(document.createElement("td"));
  }
  for (const footer of document.querySelectorAll(".rst-content footer")) {
    const section = document.createElement("section");
    section.setAttribute("aria-label", "The page before and after");
    section.append(...footer.childNodes);
    for (const part of section.querySelectorAll("[role=contentinfo]")) part.removeAttribute("role");
    footer.replaceWith(section);
  }
  for (const element of document.querySelectorAll(".rst-versions")) {
    element.setAttribute("role", "region");
    element.setAttribute("aria-label", "Pages, in order");
  }
  // The theme gives tables their width after this.
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const scrolls = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
      if (scrolls) target.tabIndex = 0;
    }
  });
  for (const element of document.querySelectorAll(".rst-content pre, .rst-content pre code, .rst-content table")) {
    sizes.observe(element);
  }
});
