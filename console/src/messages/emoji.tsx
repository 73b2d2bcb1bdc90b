// The emoji that the composer offers.
import { useContext } from "preact/hooks";
import { Icon } from "../ui/icons.tsx";
import { CloseContext, Menu } from "../ui/menu.tsx";

const EMOJI =
  "😀 😂 🙂 😉 😊 😍 😘 😎 🤔 😐 🙄 😴 😢 😭 😡 😱 🥳 🤯 😇 🤗 👍 👎 👏 🙏 💪 👋 🤝 ✌️ 🤞 👀 ❤️ 💔 🔥 ✨ 🎉 🎂 🎁 ☕ 🍕 🍺 ☀️ 🌧️ 🌈 🌱 🐱 🐶 🚀 🚗 🏠 ⏰ 📅 📎 📷 🎵 💡 ✅ ❌ ❓ ❗ 💯".split(
    " ",
  );

export function EmojiMenu({ onChoose }: { onChoose: (emoji: string) => void }) {
  return (
    <Menu label="Emoji" button={<Icon name="react" />} class="icon-button">
      <div class="emoji-grid" role="presentation">
        {EMOJI.map((emoji) => (
          <EmojiItem key={emoji} emoji={emoji} onChoose={onChoose} />
        ))}
      </div>
    </Menu>
  );
}

function EmojiItem({ emoji, onChoose }: { emoji: string; onChoose: (emoji: string) => void }) {
  const close = useContext(CloseContext);
  return (
    <button
      type="button"
      role="menuitem"
      class="menu-item"
      tabIndex={-1}
      onClick={() => {
        close();
        onChoose(emoji);
      }}
    >
      {emoji}
    </button>
  );
}
