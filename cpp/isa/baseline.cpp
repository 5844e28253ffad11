#include "baseline.hpp"
#include "instantiate.hpp"

namespace coterie {

const KernelsOf<Number>& baseline_kernels(Number) { return kKernelsOf<Baseline>; }

}  // namespace coterie
