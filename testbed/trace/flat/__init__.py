"""A trace's memory in one flat copy, moved along with the steps: for kernels that read it at very many of them."""
