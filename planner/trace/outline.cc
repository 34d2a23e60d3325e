#include "planner/trace/outline.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "planner/trace/event.h"
#include "planner/trace/trace.h"

namespace memplan {
namespace {

// Walks through one trace with the marks that are open.
class Outliner {
 public:
  Outliner(const Trace& trace, PathTable& paths)
      : trace_(trace), paths_(paths) {}

  Outline Walk() {
    outline_.askers.assign(trace_.blocks.size(), kNoId);
    for (size_t i = 0; i < trace_.events.size(); ++i) {
      const TraceEvent& event = trace_.events[i];
      const auto index = static_cast<uint32_t>(i);
      if (event.kind == EventKind::kPhase) {
        CloseDownTo(0, index);
        Open(event, index, 0);
      } else if (event.kind == EventKind::kOperator) {
        CloseDownTo(event.depth, index);
        Open(event, index, event.depth);
      } else if (event.kind == EventKind::kAlloc && event.depth > 0) {
        CloseDownTo(event.depth + 1U, index);
        outline_.askers[event.link] = InnermostAt(event.depth);
      }
    }
    CloseDownTo(0, static_cast<uint32_t>(trace_.events.size()));
    return std::move(outline_);
  }

 private:
  struct OpenMark {
    uint32_t mark;
    uint32_t depth;
  };

  void Open(const TraceEvent& event, uint32_t index, uint32_t depth) {
    const uint32_t parent = open_.empty() ? kNoId : open_.back().mark;
    const uint32_t above = parent == kNoId ? kNoId : outline_.paths[parent];
    open_.push_back({static_cast<uint32_t>(outline_.paths.size()), depth});
    outline_.paths.push_back(paths_.Add(above, depth, trace_.Name(event)));
    outline_.events.push_back(index);
    outline_.parents.push_back(parent);
    outline_.ends.push_back(kNoId);
  }

  // Ends the marks of `depth` and deeper before event `index`.
  void CloseDownTo(uint32_t depth, uint32_t index) {
    while (!open_.empty() && open_.back().depth >= depth) {
      outline_.ends[open_.back().mark] = index;
      open_.pop_back();
    }
  }

  uint32_t InnermostAt(uint32_t depth) const {
    return !open_.empty() && open_.back().depth == depth ? open_.back().mark
                                                         : kNoId;
  }

  const Trace& trace_;
  PathTable& paths_;
  Outline outline_;
  std::vector<OpenMark> open_;
};

}  // namespace

uint32_t PathTable::Add(uint32_t parent, uint32_t depth,
                        std::string_view name) {
  const Key key(parent, depth, names_.Add(name));
  return ids_.try_emplace(key, static_cast<uint32_t>(ids_.size()))
      .first->second;
}

Outline MakeOutline(const Trace& trace, PathTable& paths) {
  return Outliner(trace, paths).Walk();
}

}  // namespace memplan
