#include "dispatch.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <atomic>
#include <stdexcept>

namespace coterie {
namespace {

#if defined(__x86_64__)
struct Processor {
    bool avx2 = false, avx512 = false;
};

// By the CPUID instruction: __builtin_cpu_supports reads a table of the compiler's runtime library, which is empty with
// Zig. Then whether the system saves the registers: 0x06 are those of AVX, 0xe0 what AVX-512 adds.
Processor this_processor() {
    Processor found;
    unsigned a, b, c, d, saved, unused;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return found;
    const bool fma = c & bit_FMA;
    __asm__("xgetbv" : "=a"(saved), "=d"(unused) : "c"(0));
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return found;
    constexpr unsigned kAvx512 = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    found.avx2 = fma && (b & bit_AVX2) && (saved & 0x06) == 0x06;
    found.avx512 = found.avx2 && (b & kAvx512) == kAvx512 && (saved & 0xe0) == 0xe0;
    return found;
}
#endif

// Best first.
std::vector<const KernelTable*> runnable_tables() {
    std::vector<const KernelTable*> tables;
#if defined(COTERIE_COMPILED_avx512)
    if (this_processor().avx512) tables.push_back(&kAvx512Kernels);
#endif
#if defined(COTERIE_COMPILED_avx2)
    if (this_processor().avx2) tables.push_back(&kAvx2Kernels);
#endif
    tables.push_back(&kBaselineKernels);
    return tables;
}

std::atomic<const KernelTable*>& current_table() {
    static std::atomic<const KernelTable*> table{runnable_tables().front()};
    return table;
}

}  // namespace

const KernelTable& kernels() { return *current_table().load(); }

std::vector<std::string> available_instruction_sets() {
    std::vector<std::string> names;
    for (const KernelTable* table : runnable_tables()) names.emplace_back(table->instruction_set);
    return names;
}

void use_instruction_set(const std::string& name) {
    for (const KernelTable* table : runnable_tables())
        if (name == table->instruction_set) {
            current_table().store(table);
            return;
        }
    throw std::invalid_argument("instruction set '" + name + "' is not available on this machine");
}

}  // namespace coterie
