"""LLVM's libunwind."""
