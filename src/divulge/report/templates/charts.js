(() => {
  "use strict";
  const specifications = JSON.parse(document.getElementById("specifications").textContent);
  // ast: expressions are interpreted, not compiled, so the page needs no eval.
  const options = {
    mode: "vega-lite",
    renderer: "svg",
    actions: false,
    ast: true,
    defaultStyle: false,
    tooltip: { theme: "report" },
  };
  const drawn = specifications.map(({ id, spec }) => {
    const place = document.getElementById(id);
    return window.vegaEmbed(place, spec, options).then(
      () => place.setAttribute("data-drawn", "yes"),
      (error) => {
        place.setAttribute("data-drawn", "no");
        place.textContent = "This chart could not be drawn.";
        console.error(id, error);
      },
    );
  });
  Promise.all(drawn).then(() => document.documentElement.setAttribute("data-ready", "yes"));

  // Paper cannot be clicked: what it should not miss is unfolded for printing, and folded again.
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details.print:not([open])")];
    opened.forEach((part) => part.setAttribute("open", ""));
  });
  window.addEventListener("afterprint", () => {
    opened.forEach((part) => part.removeAttribute("open"));
    opened = [];
  });
})();
