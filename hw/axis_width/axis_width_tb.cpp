// Testbench of axis_width: messages come out as they went in, in beats of another width.
#include "pass_through.hpp"

int main(int count, char** words) {
  return tb::pass_through_main(count, words, P_S_WIDTH / 8, P_M_WIDTH / 8);
}
