#include "baseline.hpp"
#include "searches.hpp"

namespace coterie {

const SearchesOf<Number>& baseline_searches(Number) { return kSearchesOf<Baseline>; }

}  // namespace coterie
