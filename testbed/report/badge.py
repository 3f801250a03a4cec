"""A badge: one line of a score as a small SVG picture, for a README. No font is named that must be fetched."""

from __future__ import annotations

from markupsafe import Markup

from testbed.campaign.score_card import ScoreShare
from testbed.report.score_text import percent

_WIDTHS = {**dict.fromkeys("fijlrt.,:;!|'·1 ", 4.4), **dict.fromkeys("mwMW%", 10.0)}
_USUAL = 6.8  # pixels of a letter at 11 pixels, about: the text is stretched to fit exactly
_GOOD, _FAIR, _BAD = "#2f7d4f", "#8a6d00", "#b3263e"  # each with white text of contrast 4.5 and more


def badge(share: ScoreShare, label: str = "unwinding") -> str:
    """The picture: ``unwinding | 97.3 % exact · 0 % lies``. Green: no lies; red: more than one in a hundred sites."""
    exact, lies = percent(share.exact, share.sites), percent(share.lying, share.sites)
    value = f"{exact} % exact · {lies} % lies"
    colour = _GOOD if not share.lying else _FAIR if 100 * share.lying <= share.sites else _BAD
    left, right = _width(label), _width(value)
    return _PICTURE.format(
        label=label,
        value=value,
        colour=colour,
        left=left,
        right=right,
        width=left + right,
        at=left + 6,
        left_text=left - 12,
        right_text=right - 12,
    )


def _width(text: str) -> int:
    return round(sum(_WIDTHS.get(letter, _USUAL) for letter in text)) + 12


_PICTURE = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {value}">\n'
    "<title>{label}: {value}</title>\n"
    '<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>\n'
    '<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#444"/>'
    '<rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>\n'
    '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
    '<text x="6" y="14" textLength="{left_text}">{label}</text>'
    '<text x="{at}" y="14" textLength="{right_text}">{value}</text></g>\n'
    "</svg>\n"
)
