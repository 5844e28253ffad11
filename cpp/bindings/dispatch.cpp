#include "dispatch.hpp"

#include <atomic>
#include <stdexcept>

namespace coterie {
namespace {

// Best first.
std::vector<const KernelTable*> runnable_tables() {
    std::vector<const KernelTable*> tables;
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
#if defined(COTERIE_COMPILED_avx512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        tables.push_back(&kAvx512Kernels);
#endif
#if defined(COTERIE_COMPILED_avx2)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tables.push_back(&kAvx2Kernels);
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
