"""What can be said: the kinds of error, of outcome, of trait and of trap, and names near a mistyped one."""
