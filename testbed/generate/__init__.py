"""Programs made from call shapes: `shape` says what there is, `seeds` makes one from a number, `evaluate` says what it
computes, `program` reads how it is spelled and writes it (`assembly` for assemblers), `shrink` makes it smaller."""
