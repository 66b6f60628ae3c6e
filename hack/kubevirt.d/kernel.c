/* What a virtual machine on KubeVirt's bench runs in place of a kernel: every few seconds it prints to its serial console
 * which devices it has. In an emulator in an emulator it does so within seconds, where Linux takes ten minutes to boot.
 * Multiboot, 32 bits, no paging; SeaBIOS has given the buses their numbers and the devices their addresses.
 *
 *	PCI 0000:BB:DD.F VVVV:DDDD CLASS	each function
 *	NET 0000:BB:DD.F MAC			network cards of the bench that it knows
 *	USB PORT SPEED				each port of an xHCI controller with a device in it
 *	END ROUND
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	COM1 = 0x3f8,
	PIC = 0x20,
	PAUSE = 90, /* ticks between two rounds: 5 seconds */
};

__asm__(".section .multiboot, \"a\"\n"
	".align 4\n"
	".long 0x1badb002, 0, -0x1badb002\n"
	".text\n"
	".globl _start\n"
	"_start:\n"
	"	mov $stack + 16384, %esp\n"
	"	lgdt gdt_pointer\n"
	"	ljmp $8, $1f\n"
	"1:	mov $16, %eax\n"
	"	mov %eax, %ds\n"
	"	mov %eax, %es\n"
	"	mov %eax, %ss\n"
	"	call main\n"
	".globl on_tick\n"
	"on_tick:\n"
	"	push %eax\n"
	"	mov $0x20, %al\n"
	"	out %al, $0x20\n"
	"	incl ticks\n"
	"	pop %eax\n"
	"	iret\n");

char stack[16384];
volatile uint32_t ticks;
extern char on_tick[];

static const uint64_t gdt[] = { 0, 0x00cf9a000000ffff,
				0x00cf92000000ffff }; /* flat code and data */
const struct __attribute__((packed)) {
	uint16_t limit;
	const void *base;
} gdt_pointer = { sizeof(gdt) - 1, gdt };
static uint64_t idt[PIC + 1];

static void out8(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static uint8_t in8(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static void out32(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static uint32_t in32(uint16_t port)
{
	uint32_t value;

	__asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

/* --- the console --- */

static void put(char c)
{
	while (!(in8(COM1 + 5) & 0x20))
		;
	out8(COM1, (uint8_t)c);
}

static void put_text(const char *text)
{
	for (; *text; text++)
		put(*text);
}

static void put_hex(uint32_t value, int digits)
{
	while (digits-- > 0)
		put("0123456789abcdef"[value >> (4 * digits) & 15]);
}

static void put_number(uint32_t value)
{
	if (value >= 10)
		put_number(value / 10);
	put((char)('0' + value % 10));
}

/* --- time --- */

static void start_clock(void)
{
	static const uint8_t setup[][2] = { { 0x20, 0x11 },    { 0xa0, 0x11 }, { 0x21, PIC },
					    { 0xa1, PIC + 8 }, { 0x21, 4 },    { 0xa1, 2 },
					    { 0x21, 1 },       { 0xa1, 1 },    { 0x21, 0xfe },
					    { 0xa1, 0xff },    { 0x43, 0x34 }, { 0x40, 0 },
					    { 0x40, 0 } };
	const struct __attribute__((packed)) {
		uint16_t limit;
		const void *base;
	} pointer = { sizeof(idt) - 1, idt };
	uint32_t handler = (uint32_t)on_tick;

	idt[PIC] = ((uint64_t)(handler >> 16) << 48) | ((uint64_t)0x8e00 << 32) | (8U << 16) |
		   (handler & 0xffff);
	for (size_t i = 0; i < sizeof(setup) / sizeof(setup[0]); i++)
		out8(setup[i][0], setup[i][1]);
	__asm__ volatile("lidt %0; sti" : : "m"(pointer));
}

static void wait_ticks(uint32_t count)
{
	for (uint32_t end = ticks + count; (int32_t)(end - ticks) > 0;)
		__asm__ volatile("hlt");
}

/* --- PCI --- */

struct function {
	uint8_t bus, slot, number;
	uint32_t ids, class;
};

static uint32_t config(const struct function *f, uint8_t offset)
{
	out32(0xcf8, 1U << 31 | (uint32_t)f->bus << 16 | (uint32_t)f->slot << 11 |
			     (uint32_t)f->number << 8 | offset);
	return in32(0xcfc);
}

static void enable(const struct function *f)
{
	uint32_t command = config(f, 4);

	out32(0xcfc, (command & 0xffff) | 7);
}

static volatile uint32_t *memory_bar(const struct function *f)
{
	enable(f);
	return (volatile uint32_t *)(config(f, 0x10) & ~15U);
}

static void put_address(const char *kind, const struct function *f)
{
	put_text(kind);
	put_text(" 0000:");
	put_hex(f->bus, 2);
	put(':');
	put_hex(f->slot, 2);
	put('.');
	put_hex(f->number, 1);
	put(' ');
}

static void put_mac(const struct function *f, const uint8_t *mac)
{
	put_address("NET", f);
	for (int i = 0; i < 6; i++) {
		put_hex(mac[i], 2);
		put(i < 5 ? ':' : '\n');
	}
}

/* --- what it knows of devices --- */

static void show_e1000e(const struct function *f)
{
	volatile uint32_t *registers = memory_bar(f);
	uint32_t mac[2] = { registers[0x5400 / 4], registers[0x5404 / 4] };

	put_mac(f, (const uint8_t *)mac);
}

static void show_rtl8139(const struct function *f)
{
	uint16_t port;
	uint8_t mac[6];

	enable(f);
	port = (uint16_t)(config(f, 0x10) & ~3U);
	for (int i = 0; i < 6; i++)
		mac[i] = in8((uint16_t)(port + i));
	put_mac(f, mac);
}

static void show_xhci(const struct function *f)
{
	volatile uint32_t *registers = memory_bar(f);
	volatile uint32_t *ports = registers + ((registers[0] & 0xff) + 0x400) / 4;
	uint32_t count = registers[1] >> 24;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t status = ports[4 * i];

		if (!(status & 1))
			continue;
		put_text("USB ");
		put_number(i + 1);
		put(' ');
		put_number(status >> 10 & 15);
		put('\n');
	}
}

static const struct {
	uint32_t ids; /* device and vendor, or 0 */
	uint32_t class;
	void (*show)(const struct function *f);
} known[] = {
	{ 0x10d38086, 0, show_e1000e },
	{ 0x813910ec, 0, show_rtl8139 },
	{ 0, 0x0c0330, show_xhci },
};

static void show_function(const struct function *f)
{
	put_address("PCI", f);
	put_hex(f->ids & 0xffff, 4);
	put(':');
	put_hex(f->ids >> 16, 4);
	put(' ');
	put_hex(f->class, 6);
	put('\n');
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].ids ? known[i].ids == f->ids : known[i].class == f->class)
			known[i].show(f);
	}
}

static void show_bus(uint8_t bus)
{
	for (uint8_t slot = 0; slot < 32; slot++) {
		bool several = true;

		for (uint8_t number = 0; number < 8 && several; number++) {
			struct function f = { .bus = bus, .slot = slot, .number = number };
			uint32_t type;

			f.ids = config(&f, 0);
			if (number == 0)
				several = f.ids != ~0U && (config(&f, 0x0c) >> 23 & 1);
			if (f.ids == ~0U)
				continue;
			f.class = config(&f, 8) >> 8;
			type = config(&f, 0x0c) >> 16 & 0x7f;
			show_function(&f);
			if (type == 1 && (config(&f, 0x18) >> 8 & 0xff) > bus)
				show_bus((uint8_t)(config(&f, 0x18) >> 8));
			if (number == 0 && !several)
				break;
		}
	}
}

void main(void)
{
	start_clock();
	put_text("UP\n");
	for (uint32_t round = 1;; round++) {
		show_bus(0);
		put_text("END ");
		put_number(round);
		put('\n');
		wait_ticks(PAUSE);
	}
}
