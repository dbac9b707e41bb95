//! What nodes see of the graph, and when they hear that it changed.

use super::processes::other_side;
use super::{ALLOCATOR, DEFAULT, On, PLAIN, Ros, options, own_domain, zeroed};
use rmw_crossdock::abi::current::TopicEndpointInfo;
use rmw_crossdock::abi::shared::{
    Allocator, EndpointInfoArray, NamesAndTypes, RMW_RET_INCORRECT_RMW_IMPLEMENTATION,
    RMW_RET_INVALID_ARGUMENT, RMW_RET_NODE_NAME_NON_EXISTENT, RMW_RET_OK, Ret, StringArray,
};
use rmw_crossdock::introspection::Language;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

fn texts(of: &StringArray) -> Vec<String> {
    // SAFETY: as many texts as the list says.
    let text = |place| unsafe { CStr::from_ptr(*of.data.add(place)) };
    (0..of.size).map(|place| text(place).to_str().unwrap().to_owned()).collect()
}

/// As `rcutils_string_array_fini`.
fn free(of: &StringArray) {
    let Allocator { deallocate: Some(free), state, .. } = of.allocator else { return };
    // SAFETY: memory of the list's own allocator.
    unsafe {
        (0..of.size).for_each(|place| free((*of.data.add(place)).cast(), state));
        free(of.data.cast(), state);
    }
}

/// As `rmw_names_and_types_fini`.
fn take(of: NamesAndTypes) -> BTreeMap<String, Vec<String>> {
    let names = texts(&of.names);
    // SAFETY: as many lists as names.
    let types: Vec<_> = (0..of.names.size).map(|place| unsafe { &*of.types.add(place) }).collect();
    let found = names.into_iter().zip(types.iter().map(|list| texts(list))).collect();
    types.into_iter().for_each(free);
    // SAFETY: malloc's, as the allocator that was given.
    unsafe { libc::free(of.types.cast()) };
    free(&of.names);
    found
}

impl Ros {
    fn nodes(&self) -> Vec<(String, String)> {
        let (mut names, mut namespaces): (StringArray, StringArray) = (zeroed(), zeroed());
        // SAFETY: as the API asks.
        let ret = unsafe { (self.api.rmw_get_node_names)(self.node, &mut names, &mut namespaces) };
        assert_eq!(ret, RMW_RET_OK);
        let mut found: Vec<_> = texts(&names).into_iter().zip(texts(&namespaces)).collect();
        found.sort();
        free(&names);
        free(&namespaces);
        found
    }

    fn topics(&self) -> BTreeMap<String, Vec<String>> {
        let (mut allocator, mut list) = (ALLOCATOR, zeroed());
        let call = self.api.rmw_get_topic_names_and_types;
        // SAFETY: as the API asks.
        assert_eq!(unsafe { call(self.node, &mut allocator, false, &mut list) }, RMW_RET_OK);
        take(list)
    }
}

#[test]
fn nodes_topics_and_services_of_two_processes_are_seen_until_one_is_killed() {
    let domain = own_domain();
    let Some(mut ros) = Ros::new(domain, "here") else { return };
    let publisher = ros.publisher("/ping", ros.support(Language::C, PLAIN), &DEFAULT);
    let (client, set) = (ros.client("/move"), ros.wait_set());
    let mut other = other_side(domain);
    // SAFETY: as the API asks.
    let guard = unsafe { (ros.api.rmw_node_get_graph_guard_condition)(ros.node) };
    let on = On { guards: vec![guard], ..On::default() };
    let node = |name: &str| (name.to_owned(), "/".to_owned());
    let services = |ros: &Ros| {
        let (mut allocator, mut list) = (ALLOCATOR, zeroed());
        let call = ros.api.rmw_get_service_names_and_types_by_node;
        let (name, namespace) = (c"other".as_ptr(), c"/".as_ptr());
        // SAFETY: as the API asks.
        match unsafe { call(ros.node, &mut allocator, name, namespace, &mut list) } {
            RMW_RET_OK => take(list),
            ret => {
                assert_eq!(ret, RMW_RET_NODE_NAME_NON_EXISTENT);
                BTreeMap::new()
            }
        }
    };
    // Every change rings: nothing is polled here.
    while ros.nodes() != [node("here"), node("other")] || services(&ros).is_empty() {
        ros.wait_for(set, &on);
    }
    assert_eq!(services(&ros)["/move"], ["example/srv/Move"]);
    let topics = ros.topics();
    assert_eq!(topics.keys().collect::<Vec<_>>(), ["/ping", "/pong"]);
    assert_eq!(topics["/ping"], [PLAIN]);
    let count = |call: unsafe extern "C" fn(_, *const c_char, *mut usize) -> Ret, name: &CStr| {
        let mut count = 99;
        // SAFETY: as the API asks.
        assert_eq!(unsafe { call(ros.node.cast_const(), name.as_ptr(), &mut count) }, RMW_RET_OK);
        count
    };
    assert_eq!(count(ros.api.rmw_count_publishers, c"/ping"), 1);
    assert_eq!(count(ros.api.rmw_count_subscribers, c"/ping"), 1);
    assert_eq!(count(ros.api.rmw_count_publishers, c"/nothing"), 0);
    other.kill().unwrap();
    other.wait().unwrap();
    while ros.nodes() != [node("here")] {
        ros.wait_for(set, &on);
    }
    assert_eq!(ros.topics().keys().collect::<Vec<_>>(), ["/ping"]);
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_wait_set)(set);
        (ros.api.rmw_destroy_client)(ros.node, client);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}

#[test]
fn endpoints_have_their_node_type_gid_and_profile() {
    let Some(ros) = Ros::new(own_domain(), "endpoints") else { return };
    let support = ros.support(Language::C, PLAIN);
    let publisher = ros.publisher("/pose", support, &DEFAULT);
    let latched = rmw_crossdock::abi::shared::QosProfile { durability: 1, depth: 3, ..DEFAULT };
    let subscription = ros.subscription("/pose", support, &latched, &options());
    let mut gid = zeroed();
    // SAFETY: as the API asks.
    unsafe { (ros.api.rmw_get_gid_for_publisher)(publisher, &mut gid) };
    let calls = [
        (ros.api.rmw_get_publishers_info_by_topic, (1, 2, 10)),
        (ros.api.rmw_get_subscriptions_info_by_topic, (2, 1, 3)),
    ];
    for (call, (kind, durability, depth)) in calls {
        let mut allocator = ALLOCATOR;
        let mut list: EndpointInfoArray<TopicEndpointInfo> = zeroed();
        // SAFETY: as the API asks.
        unsafe {
            let ret = call(ros.node, &mut allocator, c"/pose".as_ptr(), false, &mut list);
            assert_eq!((ret, list.size), (RMW_RET_OK, 1));
            let info = &*list.info_array;
            assert_eq!(CStr::from_ptr(info.node_name), c"endpoints");
            assert_eq!(CStr::from_ptr(info.node_namespace), c"/");
            assert_eq!(CStr::from_ptr(info.topic_type).to_str().unwrap(), PLAIN);
            assert_eq!(info.endpoint_type, kind);
            assert_eq!(info.qos_profile.reliability, 1);
            assert_eq!((info.qos_profile.durability, info.qos_profile.depth), (durability, depth));
            assert_eq!(info.endpoint_gid == gid.data, kind == 1);
            for text in [info.node_name, info.node_namespace, info.topic_type] {
                libc::free(text.cast_mut().cast());
            }
            libc::free(list.info_array.cast());
        }
    }
    // SAFETY: as the API asks.
    unsafe {
        (ros.api.rmw_destroy_subscription)(ros.node, subscription);
        (ros.api.rmw_destroy_publisher)(ros.node, publisher);
    }
}

#[test]
fn looks_at_the_graph_refuse_null_and_foreign_arguments() {
    let Some(ros) = Ros::new(own_domain(), "arguments") else { return };
    let (api, node) = (ros.api, ros.node);
    let mut allocator = ALLOCATOR;
    let mut broken = Allocator { reallocate: None, ..ALLOCATOR };
    let mut list: NamesAndTypes = zeroed();
    let mut infos: EndpointInfoArray<TopicEndpointInfo> = zeroed();
    let (mut one, mut two): (StringArray, StringArray) = (zeroed(), zeroed());
    let mut used: StringArray = StringArray { size: 1, ..zeroed() };
    let (name, root, mut count) = (c"a".as_ptr(), c"/".as_ptr(), 0);
    // SAFETY: what the plug-in must refuse.
    unsafe {
        for ret in [
            (api.rmw_get_node_names)(null(), &mut one, &mut two),
            (api.rmw_get_node_names)(node, null_mut(), &mut two),
            (api.rmw_get_node_names)(node, &mut one, null_mut()),
            (api.rmw_get_node_names)(node, &mut used, &mut two),
            (api.rmw_count_publishers)(null(), root, &mut count),
            (api.rmw_count_publishers)(node, null(), &mut count),
            (api.rmw_count_publishers)(node, c"a b".as_ptr(), &mut count),
            (api.rmw_count_publishers)(node, c"/a".as_ptr(), null_mut()),
            (api.rmw_get_topic_names_and_types)(null(), &mut allocator, false, &mut list),
            (api.rmw_get_topic_names_and_types)(node, null_mut(), false, &mut list),
            (api.rmw_get_topic_names_and_types)(node, &mut broken, false, &mut list),
            (api.rmw_get_topic_names_and_types)(node, &mut allocator, false, null_mut()),
            (api.rmw_get_service_names_and_types_by_node)(
                node,
                &mut allocator,
                null(),
                root,
                &mut list,
            ),
            (api.rmw_get_service_names_and_types_by_node)(
                node,
                &mut allocator,
                name,
                null(),
                &mut list,
            ),
            (api.rmw_get_service_names_and_types_by_node)(
                node,
                &mut allocator,
                root,
                root,
                &mut list,
            ),
            (api.rmw_get_publishers_info_by_topic)(null(), &mut allocator, root, false, &mut infos),
            (api.rmw_get_publishers_info_by_topic)(node, null_mut(), root, false, &mut infos),
            (api.rmw_get_publishers_info_by_topic)(node, &mut allocator, null(), false, &mut infos),
            (api.rmw_get_publishers_info_by_topic)(node, &mut allocator, root, false, null_mut()),
        ] {
            assert_eq!(ret, RMW_RET_INVALID_ARGUMENT);
        }
        let own = std::mem::replace(&mut (*node).implementation_identifier, c"other".as_ptr());
        for ret in [
            (api.rmw_get_node_names)(node, &mut one, &mut two),
            (api.rmw_count_publishers)(node, c"/a".as_ptr(), &mut count),
            (api.rmw_get_topic_names_and_types)(node, &mut allocator, false, &mut list),
        ] {
            assert_eq!(ret, RMW_RET_INCORRECT_RMW_IMPLEMENTATION);
        }
        (*node).implementation_identifier = own;
        let by_node = api.rmw_get_service_names_and_types_by_node;
        let ret = by_node(node, &mut allocator, c"nobody".as_ptr(), root, &mut list);
        assert_eq!(ret, RMW_RET_NODE_NAME_NON_EXISTENT);
    }
}
