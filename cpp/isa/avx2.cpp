#include "avx2.hpp"
#include "instantiate.hpp"

namespace coterie {

KernelsOf<Number> avx2_kernels(Number) { return kernels_of<Avx2>(); }

}  // namespace coterie
