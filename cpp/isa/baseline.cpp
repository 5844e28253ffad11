#include "instantiate.hpp"

namespace coterie {

KernelsOf<Number> baseline_kernels(Number) { return kernels_of<Baseline>(); }

}  // namespace coterie
