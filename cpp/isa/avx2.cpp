#include "avx2.hpp"
#include "instantiate.hpp"

namespace coterie {

const KernelsOf<Number>& avx2_kernels(Number) { return kKernelsOf<Avx2>; }

}  // namespace coterie
