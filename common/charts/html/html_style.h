// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_CHARTS_HTML_HTML_STYLE_H_
#define VITRINE_COMMON_CHARTS_HTML_HTML_STYLE_H_

namespace vitrine {

// Style of an HtmlPage. Colours are variables, which the SVG charts also use. The series have the colours of Okabe and
// Ito, which colour-blind readers can distinguish; on a dark background these colours are brighter.
inline constexpr char kHtmlStyle[] = R"css(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --card: #f6f7f9; --ink: #1f2933; --faint: #5f6b7a; --line: #dfe3e8;
  --series-0: #0072b2; --series-1: #d55e00; --series-2: #009e73; --series-3: #a9418a; --series-4: #b07d00;
  --series-5: #6b7280; --good: #0072b2; --bad: #b3261e;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14181d; --card: #1d232a; --ink: #e6eaef; --faint: #9aa7b4; --line: #343d47;
    --series-0: #56b4e9; --series-1: #f08a4b; --series-2: #3ecf9f; --series-3: #e08fc6; --series-4: #e6b422;
    --series-5: #9ca3af; --good: #56b4e9; --bad: #ff8a80;
  }
  img.chart { filter: invert(0.9) hue-rotate(180deg); }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "DejaVu Sans", "Segoe UI", Helvetica, Arial, sans-serif;
}
h1 { font-size: 1.7rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.75rem 0 .5rem; padding-top: .75rem; border-top: 1px solid var(--line); }
p { margin: .4rem 0; max-width: 52rem; }
.subtitle, .note { color: var(--faint); }
nav { margin: 1rem 0 0; display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; }
a { color: var(--series-0); text-decoration: none; }
a:hover { text-decoration: underline; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr)); gap: .75rem; margin: 1.25rem 0; }
.figures div { background: var(--card); border-radius: 8px; padding: .7rem .9rem; }
.figures b { display: block; font-size: 1.45rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.figures span { color: var(--faint); font-size: .85rem; display: block; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); gap: 1.25rem; align-items: start; margin: 1rem 0; }
.charts svg, .charts img { width: 100%; height: auto; max-width: 46rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .75rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .9rem .28rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
td:not(.right), tbody th { min-width: 6rem; }
td:last-child:not(.right) { min-width: 11rem; }
th { font-weight: 400; }
thead th { color: var(--faint); font-weight: 500; overflow-wrap: normal; }
caption { text-align: left; color: var(--faint); padding-bottom: .3rem; }
.right { text-align: right; padding-left: .9rem; }
td.right, tbody th.right { white-space: nowrap; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(var(--card-width, 19rem), 1fr)); gap: 1rem; margin: 1rem 0; }
.cards > div { background: var(--card); border-radius: 8px; padding: .8rem; }
.images { display: flex; gap: .5rem; flex-wrap: wrap; }
.images figure { margin: 0; flex: 1 1 6rem; max-width: 11rem; }
.images img { width: 100%; height: auto; display: block; border-radius: 4px; }
.images img.pixels { image-rendering: pixelated; }
.images figcaption { color: var(--faint); font-size: .78rem; }
.cards p { margin: .35rem 0 0; font-size: .9rem; }
details { margin: .75rem 0; }
summary { cursor: pointer; color: var(--series-0); }
pre { background: var(--card); border-radius: 8px; padding: .9rem; overflow-x: auto; font-size: .82rem; line-height: 1.4; }
@media print, (monochrome) {
  .dash-1 { stroke-dasharray: 7 3; }
  .dash-2 { stroke-dasharray: 2 3; }
  .dash-3 { stroke-dasharray: 9 3 2 3; }
  .dash-4 { stroke-dasharray: 14 4; }
  .dash-5 { stroke-dasharray: 4 2 1 2; }
}
@media print {
  @page { margin: 15mm; }
  body { max-width: none; padding: 0; font-size: 10pt; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  nav { display: none; }
  h2 { break-after: avoid; margin-top: 1.5rem; }
  .scroll { overflow: visible; }
  thead { display: table-header-group; }
  tr, img, svg, .cards > div, .figures div { break-inside: avoid; }
  .charts { grid-template-columns: repeat(2, 1fr); }
  a { color: inherit; }
}
)css";

}  // namespace vitrine

#endif  // VITRINE_COMMON_CHARTS_HTML_HTML_STYLE_H_
