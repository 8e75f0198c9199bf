//! The contrast of the text, as WCAG 2.2 requires at level AA (1.4.3).

use std::time::Instant;

use crate::support::{
    browser::{Browser, DESK, Look},
    wait,
};

/// Returns the texts with too little contrast, as "ratio: text".
const TOO_FAINT: &str = r"
    const channels = color => color.match(/[\d.]+/g).map(Number);
    const over = ([r, g, b, a = 1], below) => [r, g, b].map((c, i) => a * c + (1 - a) * below[i]);
    const ground = element => {
        if (!element) return matchMedia('(prefers-color-scheme: dark)').matches ? [0, 0, 0] : [255, 255, 255];
        const color = channels(getComputedStyle(element).backgroundColor);
        return color[3] === undefined ? color : over(color, ground(element.parentElement));
    };
    const light = color => {
        const [r, g, b] = color.map(c => c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found = new Map(), texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let seen = 0;
    while (texts.nextNode()) {
        const text = texts.currentNode.data.trim(), element = texts.currentNode.parentElement;
        if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        if (element.closest('noscript, script, style, svg, option')) continue;
        const style = getComputedStyle(element), below = ground(element);
        const pair = [light(over(channels(style.color), below)), light(below)].sort((a, b) => b - a);
        const ratio = (pair[0] + 0.05) / (pair[1] + 0.05), size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        seen += 1;
        if (ratio < (large ? 3 : 4.5)) found.set(style.color + below, `${ratio.toFixed(2)}: ${text.slice(0, 40)}`);
    }
    return seen < 10 ? ['only ' + seen + ' texts'] : [...found.values()];
";

pub(super) fn too_faint(browser: &Browser) -> Vec<String> {
    let texts = browser.js(TOO_FAINT);
    texts.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Asserts that every text has enough contrast, light and dark.
pub(crate) fn is_legible(name: &str, browser: &Browser) {
    for dark in [false, true] {
        browser.look(Look { dark, ..DESK });
        // The colors may need a moment to follow the color scheme.
        let mut texts = too_faint(browser);
        let start = Instant::now();
        while !texts.is_empty() && start.elapsed() < wait::LIMIT {
            texts = too_faint(browser);
        }
        assert_eq!(texts, [""; 0], "{name}, dark: {dark}");
    }
    browser.look(DESK);
}
