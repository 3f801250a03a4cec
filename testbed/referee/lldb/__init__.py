"""LLDB."""
