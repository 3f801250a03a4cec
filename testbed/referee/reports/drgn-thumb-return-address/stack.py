import glob

import drgn

program = drgn.Program()
program.set_core_dump(glob.glob("qemu_*.core")[0])
module = program.extra_module("udf", create=True)
module = module[0] if isinstance(module, tuple) else module
module.address_ranges = [(0x10000, 0x11000)]
module.try_file("udf", force=True)
print(program.stack_trace(program.main_thread().tid))
