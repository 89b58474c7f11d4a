// All kernels, as one program.
#include "attention.cu"
#include "product.cu"
