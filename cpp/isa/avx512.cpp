#include "avx512.hpp"
#include "instantiate.hpp"

namespace coterie {

const KernelsOf<Number>& avx512_kernels(Number) { return kKernelsOf<Avx512>; }

}  // namespace coterie
