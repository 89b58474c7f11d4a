// All kernels, as one program.
#include "product.cu"
