"""Writers of unwind tables and of the ELF file around them. They share no code with any reader of these formats."""
