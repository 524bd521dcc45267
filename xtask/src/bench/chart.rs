//! `docs/performance.svg`: one panel a row, a bar for everybody, as a ratio to the named peer.

use super::record::Entry;
use super::report::{Reported, number};
use std::fmt::Write as _;

const WIDTH: u32 = 860;
const LABEL_WIDTH: u32 = 110;
const BAR_WIDTH: u32 = 560;
const BAR_HEIGHT: u32 = 12;
const BAR_PITCH: u32 = 17;
const TITLE_HEIGHT: u32 = 26;
const PANEL_GAP: u32 = 14;
/// A longer bar is cut off and says so.
const RATIO_MAX: f64 = 4.0;

/// The whole picture. Its colours stand on a light and on a dark page.
pub(crate) fn draw(rows: &[Reported]) -> String {
    let mut body = String::new();
    let mut top = PANEL_GAP;
    for row in rows {
        top = panel(&mut body, row, top);
    }
    let height = top + PANEL_GAP;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Ratios to the named peer, by row; shorter is better\">\n\
         <style>\n\
         text {{ font: 12px system-ui, sans-serif; fill: #57606a; }}\n\
         .title {{ font-weight: 600; }}\n\
         .peer {{ fill: #8c959f; }}\n\
         .floor {{ fill: none; stroke: #8c959f; stroke-dasharray: 3 2; }}\n\
         .ours {{ fill: #d9822b; }}\n\
         .unit {{ stroke: #8c959f; stroke-width: 1; opacity: 0.6; }}\n\
         @media (prefers-color-scheme: dark) {{ text {{ fill: #adbac7; }} }}\n\
         </style>\n{body}</svg>\n"
    )
}

fn panel(body: &mut String, reported: &Reported, top: u32) -> u32 {
    let entries: Vec<&Entry> = reported
        .entries
        .iter()
        .filter(|entry| !entry.ratio.is_nan())
        .collect();
    let bars = u32::try_from(entries.len()).unwrap_or(0);
    let _ = writeln!(
        body,
        "<text class=\"title\" x=\"8\" y=\"{}\">{} (1 = {})</text>",
        top + 12,
        escaped(reported.row.title),
        reported.row.peer
    );
    let first = top + TITLE_HEIGHT;
    for (place, entry) in (0u32..).zip(&entries) {
        bar(body, entry, first + place * BAR_PITCH);
    }
    let unit = LABEL_WIDTH + length(1.0);
    let end = first + bars * BAR_PITCH;
    let _ = writeln!(
        body,
        "<line class=\"unit\" x1=\"{unit}\" x2=\"{unit}\" y1=\"{}\" y2=\"{end}\"/>",
        first - 4
    );
    end + PANEL_GAP
}

fn bar(body: &mut String, entry: &Entry, top: u32) {
    let class = match entry {
        entry if entry.is_ours() => "ours",
        entry if entry.is_floor() => "floor",
        _ => "peer",
    };
    let width = length(entry.ratio);
    let cut = if entry.ratio > RATIO_MAX { " →" } else { "" };
    let unfair = if entry.is_counted() { "" } else { ", unfair" };
    let _ = writeln!(
        body,
        "<text x=\"8\" y=\"{0}\">{1}</text>\
         <rect class=\"{class}\" x=\"{LABEL_WIDTH}\" y=\"{top}\" width=\"{width}\" \
         height=\"{BAR_HEIGHT}\"/>\
         <text x=\"{2}\" y=\"{0}\">{3:.2}{cut} ({4}{unfair})</text>",
        top + BAR_HEIGHT - 2,
        escaped(&entry.name),
        LABEL_WIDTH + width + 6,
        entry.ratio,
        number(entry.value),
    );
}

fn length(ratio: f64) -> u32 {
    (ratio.min(RATIO_MAX) / RATIO_MAX * f64::from(BAR_WIDTH)) as u32
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
