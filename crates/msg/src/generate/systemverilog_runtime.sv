// Flat layout v1: what the generated packages import.
package crossdock_flat_pkg;
    // Elements of variable length: bytes from the start of the block, and numbers of elements. The
    // lowest bits are the first bytes.
    typedef struct packed {
        logic [31:0] capacity;
        logic [31:0] length;
        logic [63:0] offset;
    } reference_t;
endpackage
