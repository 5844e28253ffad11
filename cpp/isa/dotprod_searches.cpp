// Other kernels are those of NEON.
#include <arm_neon.h>

#include "instantiate.hpp"

namespace coterie {
namespace {

struct NeonDotprod : Baseline {};

template <>
struct BytesOf<NeonDotprod> {
    static constexpr bool kExists = true;
    static constexpr Index kLeastColumns = 24, kLeastCenters = 128, kLeastProducts = 11000, kBoundColumns = 512;
    static constexpr int kLevels = 127, kOffset = 0, kWords = 1, kRows = 6, kVectors = 4;
    using Ints = VectorOf<std::int32_t, 16>::Aligned;
    static Ints add_products(Ints sums, const Ints* columns, const Ints* words) {
        return (Ints)vdotq_s32((int32x4_t)sums, (int8x16_t)columns[0], (int8x16_t)words[0]);
    }
};

}  // namespace

SearchesOf<Number> dotprod_searches(Number) { return searches_of<NeonDotprod>(); }

}  // namespace coterie
