import { List } from "./list.ts";
import type { CallOptions, ChangeOptions, CreateOptions, Transport } from "./transport.ts";
import type {
  Group,
  GroupChanges,
  GroupQuery,
  Invitation,
  Member,
  MemberChanges,
  MemberQuery,
  NewGroup,
} from "./types.ts";

const PATH = ["v1", "groups"];

/** Groups that the caller is a member of or invited to. */
export class Groups {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(query: GroupQuery = {}, options: CallOptions = {}): List<Group> {
    return new List(this.#transport, PATH, query, options);
  }

  /** Creates a group with the caller as its admin, and invites the usernames in `members`. */
  create(fields: NewGroup, options: CreateOptions = {}): Promise<Group> {
    return this.#transport.call({ ...options, method: "POST", path: PATH, body: fields });
  }

  retrieve(id: string, options: CallOptions = {}): Promise<Group> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id] });
  }

  /** Changes the group; null removes description or picture. Throws `not_admin` if the caller is no admin. */
  update(id: string, changes: GroupChanges, options: ChangeOptions = {}): Promise<Group> {
    return this.#transport.call({ ...options, method: "PUT", path: [...PATH, id], body: changes });
  }

  /** Accepts the invitation. For a member nothing changes. */
  join(id: string, options: CreateOptions = {}): Promise<Group> {
    return this.#transport.call({ ...options, method: "POST", path: [...PATH, id, "join"] });
  }

  /** Leaves the group, or declines the invitation. */
  leave(id: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id], options);
  }

  /** Lists members; for admins also those who are invited. */
  listMembers(id: string, query: MemberQuery = {}, options: CallOptions = {}): List<Member> {
    return new List(this.#transport, [...PATH, id, "members"], query, options);
  }

  /** Invites a user, who sees the invitation if the caller is one of their contacts. Reveals nothing about the user. */
  inviteMember(id: string, fields: Invitation, options: CreateOptions = {}): Promise<Member> {
    return this.#transport.call({ ...options, method: "POST", path: [...PATH, id, "members"], body: fields });
  }

  /** Makes up to 100 users members at once, and returns them in the order of the names. Needs the scope `act_as`. */
  async addMembers(
    id: string,
    usernames: readonly string[],
    options: CreateOptions = {},
  ): Promise<readonly Member[]> {
    const path = [...PATH, id, "members"];
    const body = { members: usernames, joined: true };
    return (await this.#transport.call<{ data: Member[] }>({ ...options, method: "POST", path, body })).data;
  }

  /** Retrieves a member; as an admin also somebody who is invited. */
  retrieveMember(id: string, memberId: string, options: CallOptions = {}): Promise<Member> {
    return this.#transport.call({ ...options, method: "GET", path: [...PATH, id, "members", memberId] });
  }

  /** Makes a member an admin, or an admin a member. */
  updateMember(
    id: string,
    memberId: string,
    changes: MemberChanges,
    options: ChangeOptions = {},
  ): Promise<Member> {
    const path = [...PATH, id, "members", memberId];
    return this.#transport.call({ ...options, method: "PUT", path, body: changes });
  }

  /** Removes a member, or withdraws an invitation. */
  removeMember(id: string, memberId: string, options: ChangeOptions = {}): Promise<void> {
    return this.#transport.remove([...PATH, id, "members", memberId], options);
  }
}
