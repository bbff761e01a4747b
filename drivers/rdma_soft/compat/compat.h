/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lowers the newest kernel interfaces to what the kernel at hand has, driven
 * by the RDMA_SOFT_HAVE_* answers of Kbuild.include. The driver is written for
 * the newest kernel and uses, apart from the names below that start with
 * rsoft_ or RSOFT_, only that kernel's names.
 *
 * Included by the compiler before each source file. It therefore includes
 * nothing and declares nothing: macros cost only who uses them, and a source
 * file's own "#define pr_fmt" still comes before the first kernel header.
 */
#ifndef _RDMA_SOFT_COMPAT_H
#define _RDMA_SOFT_COMPAT_H

/* --- verbs ------------------------------------------------------------- */

/*
 * create_cq: its last argument was the udata and is now the attribute bundle
 * that holds it. NULL for a kernel CQ in both forms. Write
 *
 *	int rsoft_create_cq(struct ib_cq *cq,
 *			    const struct ib_cq_init_attr *attr,
 *			    struct rsoft_create_cq_arg *arg)
 *	{
 *		struct ib_udata *udata = rsoft_create_cq_udata(arg);
 */
#ifdef RDMA_SOFT_HAVE_CREATE_CQ_BUNDLE
#define rsoft_create_cq_arg uverbs_attr_bundle
#define rsoft_create_cq_udata(arg) ((arg) ? &(arg)->driver_udata : NULL)
#else
#define rsoft_create_cq_arg ib_udata
#define rsoft_create_cq_udata(arg) (arg)
#endif

/*
 * resize_user_cq: the op had another name and took a signed entry count. Write
 * ".resize_user_cq = rsoft_resize_cq" and let that function take
 * (struct ib_cq *, rsoft_cqe_count cqe, struct ib_udata *).
 */
#ifdef RDMA_SOFT_HAVE_RESIZE_USER_CQ
#define rsoft_cqe_count unsigned int
#else
#define resize_user_cq resize_cq
#define rsoft_cqe_count int
#endif

/*
 * reg_user_mr got a DMA handle, which a software device refuses. The macro
 * makes, from reg(pd, start, length, virt_addr, access, udata), a function
 * with the signature of the op.
 */
#ifdef RDMA_SOFT_HAVE_REG_USER_MR_DMAH
#define RSOFT_REG_USER_MR_OP(op, reg)					\
	static struct ib_mr *op(struct ib_pd *pd, u64 start, u64 length, \
				u64 virt_addr, int access,		\
				struct ib_dmah *dmah,			\
				struct ib_udata *udata)			\
	{								\
		if (dmah)						\
			return ERR_PTR(-EOPNOTSUPP);			\
		return reg(pd, start, length, virt_addr, access, udata); \
	}
#else
#define RSOFT_REG_USER_MR_OP(op, reg)					\
	static struct ib_mr *op(struct ib_pd *pd, u64 start, u64 length, \
				u64 virt_addr, int access,		\
				struct ib_udata *udata)			\
	{								\
		return reg(pd, start, length, virt_addr, access, udata); \
	}
#endif

/*
 * counter_bind_qp and counter_unbind_qp are told the port on newer kernels. The
 * macro makes, from bind(counter, qp) and unbind(qp), the functions bind_op and
 * unbind_op with the signatures of the ops.
 */
#ifdef RDMA_SOFT_HAVE_COUNTER_BIND_QP_PORT
#define RSOFT_COUNTER_QP_OPS(bind_op, bind, unbind_op, unbind)		\
	static int bind_op(struct rdma_counter *counter,		\
			   struct ib_qp *qp, u32 port)			\
	{								\
		return bind(counter, qp);				\
	}								\
	static int unbind_op(struct ib_qp *qp, u32 port)		\
	{								\
		return unbind(qp);					\
	}
#else
#define RSOFT_COUNTER_QP_OPS(bind_op, bind, unbind_op, unbind)		\
	static int bind_op(struct rdma_counter *counter,		\
			   struct ib_qp *qp)				\
	{								\
		return bind(counter, qp);				\
	}								\
	static int unbind_op(struct ib_qp *qp)				\
	{								\
		return unbind(qp);					\
	}
#endif

#ifndef RDMA_SOFT_HAVE_UMEM_GET_VA
#define ib_umem_get_va(device, addr, size, access) \
	ib_umem_get(device, addr, size, access)
#endif

/* Older kernels create every device in the initial network namespace. */
#ifndef RDMA_SOFT_HAVE_ALLOC_DEVICE_WITH_NET
#define ib_alloc_device_with_net(drv_struct, member, net) \
	((void)(net), ib_alloc_device(drv_struct, member))
#endif

#ifndef RDMA_SOFT_HAVE_MARK_NAME_ASSIGNED_BY_USER
#define ib_mark_name_assigned_by_user(device) ((void)(device))
#endif

/* A virt-DMA device's "DMA address" is the kernel's own address. */
#ifndef RDMA_SOFT_HAVE_VIRT_DMA_TO_PTR
#define ib_virt_dma_to_ptr(dma_addr) ((void *)(uintptr_t)(dma_addr))
#endif
#ifndef RDMA_SOFT_HAVE_VIRT_DMA_TO_PAGE
#define ib_virt_dma_to_page(dma_addr) virt_to_page(ib_virt_dma_to_ptr(dma_addr))
#endif

/*
 * FLUSH and ATOMIC WRITE: numbers of the user ABI, so they mean the same on
 * kernels whose headers do not know them yet. Not enumerators there: hold an
 * opcode in a u32 before a switch over it. An MR with flush rights cannot be
 * registered on such a kernel (the core refuses the access flags).
 */
#ifndef RDMA_SOFT_HAVE_WR_FLUSH
#define IB_WR_FLUSH 14
#define IB_WC_FLUSH 8
#define IB_FLUSH_GLOBAL 1U
#define IB_FLUSH_PERSISTENT 2U
#define IB_FLUSH_RANGE 0
#define IB_FLUSH_MR 1
#endif
#ifndef RDMA_SOFT_HAVE_WR_ATOMIC_WRITE
#define IB_WR_ATOMIC_WRITE 15
#define IB_WC_ATOMIC_WRITE 9
#define IB_DEVICE_ATOMIC_WRITE 0x10000000000ULL
#endif
#ifndef RDMA_SOFT_HAVE_ACCESS_FLUSH
#define IB_ACCESS_FLUSH_GLOBAL 0x100
#define IB_ACCESS_FLUSH_PERSISTENT 0x200
#define IB_DEVICE_FLUSH_GLOBAL 0x4000000000ULL
#define IB_DEVICE_FLUSH_PERSISTENT 0x8000000000ULL
#endif

/* --- network ----------------------------------------------------------- */

/*
 * Tunnel sockets are named by their sock since 7.x; both calls take the sock
 * here. Release waits for readers of encap_rcv on old kernels only: the caller
 * calls synchronize_rcu() itself.
 */
#ifdef RDMA_SOFT_HAVE_UDP_TUNNEL_SOCK_SK
#define rsoft_setup_udp_tunnel_sock(net, sk, cfg) \
	setup_udp_tunnel_sock(net, sk, cfg)
#define rsoft_udp_tunnel_sock_release(sk) udp_tunnel_sock_release(sk)
#else
#define rsoft_setup_udp_tunnel_sock(net, sk, cfg) \
	setup_udp_tunnel_sock(net, (sk)->sk_socket, cfg)
#define rsoft_udp_tunnel_sock_release(sk) \
	udp_tunnel_sock_release((sk)->sk_socket)
#endif

/* kernel_bind(sock, (struct sockaddr_unsized *)&addr, sizeof(addr)) */
#ifndef RDMA_SOFT_HAVE_SOCKADDR_UNSIZED
#define sockaddr_unsized sockaddr
#endif

/* The traffic class of an IPv4 route look-up, from the 8-bit TOS. */
#ifdef RDMA_SOFT_HAVE_FLOWI4_DSCP
#define rsoft_flowi4_set_tos(fl4, tos) \
	((fl4)->flowi4_dscp = inet_dsfield_to_dscp(tos))
#else
#define rsoft_flowi4_set_tos(fl4, tos) ((fl4)->flowi4_tos = RT_TOS(tos))
#endif

#ifndef RDMA_SOFT_HAVE_DST_DEV
#define dst_dev(dst) READ_ONCE((dst)->dev)
#define skb_dst_dev(skb) dst_dev(skb_dst(skb))
#endif

#ifndef RDMA_SOFT_HAVE_SKB_FRAG_FILL_PAGE_DESC
#define skb_frag_fill_page_desc(frag, page, off, size)	\
	do {						\
		skb_frag_t *__frag = (frag);		\
							\
		__skb_frag_set_page(__frag, page);	\
		skb_frag_off_set(__frag, off);		\
		skb_frag_size_set(__frag, size);	\
	} while (0)
#endif

/* --- timers and work --------------------------------------------------- */

#ifndef RDMA_SOFT_HAVE_TIMER_DELETE
#define timer_delete(timer) del_timer(timer)
#define timer_delete_sync(timer) del_timer_sync(timer)
#endif

#ifndef RDMA_SOFT_HAVE_TIMER_CONTAINER_OF
#define timer_container_of(var, timer, field) \
	container_of(timer, typeof(*(var)), field)
#endif

#ifndef RDMA_SOFT_HAVE_HRTIMER_SETUP
#define hrtimer_setup(timer, fn, clock, mode)		\
	do {						\
		struct hrtimer *__timer = (timer);	\
							\
		hrtimer_init(__timer, clock, mode);	\
		__timer->function = (fn);		\
	} while (0)
#endif

/*
 * Per-CPU work queues must say so on 7.x. WQ_PERCPU is not allowed together
 * with WQ_BH on 6.12 although both exist there, hence RSOFT_WQ_BH, which is
 * defined where work in softirq context exists at all (else use a tasklet).
 */
#ifdef RDMA_SOFT_HAVE_WQ_BH
#ifdef RDMA_SOFT_HAVE_WQ_BH_PERCPU
#define RSOFT_WQ_BH (WQ_BH | WQ_PERCPU)
#else
#define RSOFT_WQ_BH WQ_BH
#endif
#endif
#ifndef RDMA_SOFT_HAVE_WQ_PERCPU
#define WQ_PERCPU 0
#endif
#ifndef RDMA_SOFT_HAVE_SYSTEM_PERCPU_WQ
#define system_percpu_wq system_wq
#endif

/* --- memory ------------------------------------------------------------ */

#ifndef RDMA_SOFT_HAVE_VM_FLAGS_SET
#define vm_flags_set(vma, flags) ((vma)->vm_flags |= (flags))
#endif

#ifdef RDMA_SOFT_HAVE_PIN_USER_PAGES_VMAS
#define rsoft_pin_user_pages(start, nr, flags, pages) \
	pin_user_pages(start, nr, flags, pages, NULL)
#else
#define rsoft_pin_user_pages(start, nr, flags, pages) \
	pin_user_pages(start, nr, flags, pages)
#endif

/* --- modules ----------------------------------------------------------- */

/* RSOFT_MODULE_IMPORT_NS(DMA_BUF): the bare name, as in old kernels. */
#ifdef RDMA_SOFT_HAVE_IMPORT_NS_STRING
#define RSOFT_MODULE_IMPORT_NS(ns) MODULE_IMPORT_NS(#ns)
#else
#define RSOFT_MODULE_IMPORT_NS(ns) MODULE_IMPORT_NS(ns)
#endif

#endif /* _RDMA_SOFT_COMPAT_H */
