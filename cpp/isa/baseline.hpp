// SSE2 on x86-64 (16 registers), NEON with fused multiply-add on arm64 (32 registers).
#pragma once

#include "coterie/machine/isa.hpp"

namespace coterie {

#if defined(__aarch64__)
using Baseline = PlainIsa<16, 6>;
#else
using Baseline = PlainIsa<16, 2>;
#endif

}  // namespace coterie
