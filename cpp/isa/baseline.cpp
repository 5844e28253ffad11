// SSE2 on x86-64 (16 registers), NEON with fused multiply-add on arm64 (32 registers).
#include "instantiate.hpp"

namespace coterie {

#if defined(__aarch64__)
constinit const KernelTable kBaselineKernels = kernel_table<PlainIsa<16, 6>>("neon");
#else
constinit const KernelTable kBaselineKernels = kernel_table<PlainIsa<16, 2>>("baseline");
#endif

}  // namespace coterie
