"""Programs made from call shapes: `shape` says what there is, `director` spells it, `seeds` makes one from a number,
`evaluate` says what it computes, `c_source` and `assembly` write it, `shrink` makes it smaller."""
