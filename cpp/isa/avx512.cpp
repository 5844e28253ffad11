#include "avx512.hpp"
#include "instantiate.hpp"

namespace coterie {

KernelsOf<Number> avx512_kernels(Number) { return kernels_of<Avx512>(); }

}  // namespace coterie
