// Which table of kernels is in use.
#pragma once

#include <string>
#include <vector>

#include "coterie/kernel_table.hpp"

namespace coterie {

const KernelTable& kernels();
std::vector<std::string> available_instruction_sets();
// Throws std::invalid_argument for a set that this machine does not have.
void use_instruction_set(const std::string& name);

}  // namespace coterie
