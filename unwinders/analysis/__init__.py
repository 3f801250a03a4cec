"""Machine code to rows without tables: decode, emulate abstractly, follow the control flow."""
