// The style of report pages: one column, light and dark as the reader's system is.
#pragma once

namespace freeflow::apps {

inline constexpr const char* page_style = R"(:root{color-scheme:light dark;--ground:#fbfbfa;
--panel:#fff;--ink:#1d2126;--soft:#646c76;--line:#dfe2e6;--accent:#1f6feb;--good:#1a7f37;
--look:#9a6700;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--ground:#14171b;--panel:#1b1f24;--ink:#e3e6ea;
--soft:#98a1ac;--line:#31373e;--accent:#6cb0ff;--good:#56c271;--look:#e0b341;--bad:#ff7b72}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.25rem 4rem;max-width:60rem;background:var(--ground);
color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.75rem 0 .35rem}
p{margin:.35rem 0}.soft,figcaption,th{color:var(--soft)}
.soft,figcaption{font-size:.9rem}a{color:var(--accent)}
code,pre{font:.85rem/1.45 ui-monospace,monospace;overflow-wrap:anywhere}
pre{white-space:pre-wrap;margin:.4rem 0;padding:.7rem .9rem;background:var(--panel);
border:1px solid var(--line);border-radius:6px}
.verdict{margin:1.5rem 0 0;padding:1rem 1.2rem;background:var(--panel);border:1px solid var(--line);
border-left:5px solid var(--tone);border-radius:6px}
.verdict strong{font-size:1.1rem}.verdict ul{margin:.6rem 0 0;padding:0;list-style:none}
.verdict li{padding:.12rem 0 .12rem 1.3rem;position:relative}
.verdict li::before{content:"";position:absolute;left:.15rem;top:.72em;width:.55rem;height:.55rem;
border-radius:50%;background:var(--tone)}
.good{--tone:var(--good)}.look{--tone:var(--look)}.bad{--tone:var(--bad)}
figure{margin:.6rem 0 1.2rem}
.row{display:flex;gap:8px;align-items:flex-end;margin:.3rem 0}
.pic{position:relative;min-width:0;background:#000 0 0/100% 100% no-repeat;border-radius:2px}
.pic>i{position:absolute;inset:0;background:0 0/100% 100% no-repeat}
.lines{background:var(--panel);border:1px solid var(--line)}
.lines svg{display:block;width:100%;height:100%;overflow:hidden}
.flicker{cursor:pointer;outline-offset:4px}.flicker .over{opacity:0}
.flicker:hover .over,.flicker:focus .over{animation:flicker 1s steps(1) infinite}
@keyframes flicker{0%{opacity:1}50%{opacity:0}}
@media(prefers-reduced-motion:reduce){.flicker:hover .over,.flicker:focus .over{animation:none;
opacity:1}}
.check{-webkit-mask:repeating-conic-gradient(#000 0 25%,#0000 0 50%) 0 0/3.5rem 3.5rem;
mask:repeating-conic-gradient(#000 0 25%,#0000 0 50%) 0 0/3.5rem 3.5rem}
.key{display:flex;flex-wrap:wrap;gap:.35rem .7rem;align-items:center}
.key b{width:9rem;height:.7rem;border-radius:2px}.key b.dot{width:.7rem}
.plots{display:flex;flex-wrap:wrap;gap:.9rem 1.2rem}.plots figure{margin:0;width:13rem}
.plots svg,.dots svg{display:block;width:100%;height:auto;overflow:visible}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{padding:.22rem 1.2rem .22rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line)}
th{font-weight:500}th,td:first-child{white-space:nowrap}td.n,th.n{text-align:right}
details{margin:.8rem 0}summary{cursor:pointer;color:var(--soft)}
.tag{color:var(--tone);font-weight:600}
@media print{.flicker .over{opacity:0}})";

}  // namespace freeflow::apps
