#include "instantiate.hpp"

namespace coterie {

SearchesOf<Number> baseline_searches(Number) { return searches_of<Baseline>(); }

}  // namespace coterie
