"""Colours of figures by name: first those of Okabe and Ito, which colour-blind readers can distinguish."""

COLORS = {
    **{"grey": "#7f7f7f", "blue": "#0072B2", "orange": "#E69F00", "vermilion": "#D55E00", "green": "#009E73"},
    **{"pink": "#CC79A7", "sky": "#56B4E9", "brown": "#8C564B", "cyan": "#17BECF", "olive": "#BCBD22"},
    **{"black": "#1A1A1A", "purple": "#7B3294", "wine": "#882255"},
}
